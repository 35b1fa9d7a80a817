-- wrk's part of `start-load.ts`: sends the requests from standard input, one per line, in turn and repeatedly. A line has a
-- key and, for a POST, a tab and the body. All requests are built in advance.

local requests = {}
local latest = 0

function init()
  for line in io.lines() do
    local key, body = line:match("^([^\t]*)\t(.*)$")
    local headers = { ["Authorization"] = "Bearer " .. (key or line) }
    if body then headers["Content-Type"] = "application/json" end
    requests[#requests + 1] = wrk.format(body and "POST" or "GET", nil, headers, body)
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
