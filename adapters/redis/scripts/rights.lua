-- Finds out what the user of the server may not do. KEYS: layout, a key that no record has. ARGV: prefix of the keys of sessions and
-- tokens. Returns ok, the value of the layout ("" without one), the name of its key, and the rights that the user lacks. A server without
-- acl_check_cmd (Redis 6) does not tell, so the commands run, on the key that no record has; at the end it is absent again. The last
-- value is untold where no script finds out the last rights.
local layout, nothing, other = KEYS[1], none(), ARGV[3] .. ':session:'
local lacks = {}
local function may(...)
  if redis.acl_check_cmd then
    local known, allowed = pcall(redis.acl_check_cmd, ...)
    return known and allowed
  end
  local said = redis.pcall(...)
  local err = type(said) == 'table' and said.err or ''
  return not (string.find(err, 'executing the script can') or string.find(err, 'ACL failure') or string.find(err, 'Unknown'))
end
local function need(right, ...)
  if not may(...) then lacks[#lacks + 1] = right end
end
need('+unlink', 'UNLINK', nothing)
if #lacks == 0 then
  need('+get', 'GET', layout)
  need('+set', 'SET', nothing, '', 'XX')
  need('+setnx', 'SETNX', nothing, '')
  need('+mset', 'MSET', nothing, '')
  need('+msetnx', 'MSETNX', nothing, '')
  need('+exists', 'EXISTS', layout)
  need('+rename', 'RENAME', nothing, nothing)
  need('+type', 'TYPE', layout)
  need('+scan', 'SCAN', '0')
  need('+pexpireat', 'PEXPIREAT', nothing, '1')
  need('+pttl', 'PTTL', layout)
  need('+time', 'TIME')
  need('+hset', 'HSET', nothing, 'f', 'v')
  need('+hget', 'HGET', nothing, 'f')
  need('+hgetall', 'HGETALL', nothing)
  need('+hdel', 'HDEL', nothing, 'f')
  need('+hlen', 'HLEN', nothing)
  need('+zadd', 'ZADD', nothing, 'XX', '1', 'm')
  need('+zrem', 'ZREM', nothing, 'm')
  need('+zrange', 'ZRANGE', nothing, '0', '1')
  need('+zscan', 'ZSCAN', nothing, '0')
  need('+zremrangebyscore', 'ZREMRANGEBYSCORE', nothing, '0', '1')
  if redis.acl_check_cmd then
    need('+evalsha', 'EVALSHA', 'x', '0')
    need('+eval', 'EVAL', 'x', '0')
    need('+script|load', 'SCRIPT', 'LOAD', 'x')
    if #lacks == 0 then need('~' .. ARGV[3] .. ':*', 'SET', other, '', 'XX') end
  else
    redis.pcall('UNLINK', nothing)
  end
end
local value = #lacks == 0 and redis.call('GET', layout)
return {'ok', value or '', layout, lacks, redis.acl_check_cmd and '' or 'untold'}
