-- Writes a record that has an owner. KEYS: record, receipt. ARGV: milliseconds
-- that the receipt is kept, nonce, nonce of an orphan that may be replaced (or
-- empty), deadline in milliseconds (or empty), field, value, ...
-- Returns ok, or nonce, owner and incarnation of the record that is there.
if redis.call('EXISTS', KEYS[2]) == 1 then return {'ok'} end
local there = redis.call('HMGET', KEYS[1], 'nonce', 'owner', 'inc')
if not there[1] and redis.call('EXISTS', KEYS[1]) == 1 then
  return redis.error_reply('ERR a record has no nonce')
end
if (there[1] or '') ~= ARGV[3] then return {there[1] or '', there[2] or '', there[3] or ''} end
redis.call('DEL', KEYS[1])
redis.call('HSET', KEYS[1], 'nonce', ARGV[2], unpack(ARGV, 5))
if ARGV[4] ~= '' then redis.call('PEXPIREAT', KEYS[1], ARGV[4]) end
redis.call('SET', KEYS[2], 1, 'PX', ARGV[1])
return {'ok'}
