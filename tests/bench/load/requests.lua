-- wrk's part of `start-load.ts`: sends requests with the keys from standard input, one key per line, in turn and repeatedly.
-- All requests are built in advance.

local requests = {}
local latest = 0

function init()
  for key in io.lines() do
    requests[#requests + 1] = wrk.format("GET", nil, { ["Authorization"] = "Bearer " .. key })
  end
end

function request()
  latest = latest % #requests + 1
  return requests[latest]
end

-- Latencies and the duration are in microseconds.
function done(summary, latency)
  local errors = summary.errors
  io.write(string.format(
    '{"answered":%d,"microseconds":%d,"p50Microseconds":%d,"p99Microseconds":%d,"rejected":%d,"broken":%d}\n',
    summary.requests, summary.duration, latency:percentile(50), latency:percentile(99),
    errors.status, errors.connect + errors.read + errors.write
  ))
end
