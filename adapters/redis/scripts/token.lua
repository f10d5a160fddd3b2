-- Creates, uses or deletes verification tokens. KEYS: the hash of the identifier's tokens, which expires with the last of them.
-- ARGV: operation (create, use or delete); token; expiry; deadline of the key in milliseconds. Returns ok; for use also the expiry of
-- the token, for delete the number of tokens; absent; or for create taken, if the token is stored already.
if ARGV[3] == 'create' then
  if redis.call('HGET', KEYS[1], ARGV[4]) then return {'taken'} end
  local left, now = redis.call('PTTL', KEYS[1]), redis.call('TIME')
  redis.call('HSET', KEYS[1], ARGV[4], ARGV[5])
  if left < 0 or tonumber(ARGV[6]) > now[1] * 1000 + now[2] / 1000 + left then
    local set = redis.pcall('PEXPIREAT', KEYS[1], ARGV[6])
    if type(set) == 'table' then -- an error
      redis.call('HDEL', KEYS[1], ARGV[4])
      return set
    end
  end
  return {'ok'}
end
if ARGV[3] == 'delete' then
  local count = redis.call('HLEN', KEYS[1])
  redis.call('UNLINK', KEYS[1])
  return {'ok', count}
end
local expires = redis.call('HGET', KEYS[1], ARGV[4])
if not expires then return {'absent'} end
if not tonumber(expires) then return redis.error_reply('ERR the expiry of a token can not be read') end
redis.call('HDEL', KEYS[1], ARGV[4])
return {'ok', expires}
