-- Finds out what the user of the server may not do, and writes nothing. KEYS: layout. ARGV: prefix of the keys of sessions and tokens.
-- Returns ok, the value of the layout ("" without one), the name of its key, and the rights that the user lacks. A server without
-- acl_check_cmd (Redis 6) does not tell.
local layout, other = KEYS[1], ARGV[3] .. ':session:'
local lacks = {}
local function need(right, ...)
  local known, allowed = pcall(redis.acl_check_cmd, ...)
  if not known or not allowed then lacks[#lacks + 1] = right end
end
if redis.acl_check_cmd then
  need('+get', 'GET', layout)
  need('+set', 'SET', layout, '')
  need('+setnx', 'SETNX', layout, '')
  need('+mset', 'MSET', layout, '')
  need('+msetnx', 'MSETNX', layout, '')
  need('+exists', 'EXISTS', layout)
  need('+unlink', 'UNLINK', layout)
  need('+rename', 'RENAME', layout, layout)
  need('+type', 'TYPE', layout)
  need('+scan', 'SCAN', '0')
  need('+pexpireat', 'PEXPIREAT', layout, '1')
  need('+pttl', 'PTTL', layout)
  need('+time', 'TIME')
  need('+hset', 'HSET', layout, 'f', 'v')
  need('+hget', 'HGET', layout, 'f')
  need('+hgetall', 'HGETALL', layout)
  need('+hdel', 'HDEL', layout, 'f')
  need('+hlen', 'HLEN', layout)
  need('+zadd', 'ZADD', layout, '1', 'm')
  need('+zrem', 'ZREM', layout, 'm')
  need('+zrange', 'ZRANGE', layout, '0', '1')
  need('+zscan', 'ZSCAN', layout, '0')
  need('+zremrangebyscore', 'ZREMRANGEBYSCORE', layout, '0', '1')
  need('+evalsha', 'EVALSHA', 'x', '0')
  need('+eval', 'EVAL', 'x', '0')
  need('+script|load', 'SCRIPT', 'LOAD', 'x')
  if #lacks == 0 then need('~' .. ARGV[3] .. ':*', 'SET', other, '') end
end
local value = #lacks == 0 and redis.call('GET', layout)
return {'ok', value or '', layout, lacks}
