-- Writes a user record. KEYS: user, receipt. ARGV: milliseconds that the receipt
-- is kept, incarnation, milliseconds that the record may stay pending (empty: it
-- is final), field, value, ...
-- Returns ok, or the incarnation of the record that is there.
if redis.call('EXISTS', KEYS[2]) == 1 then return 'ok' end
local there = redis.call('HGET', KEYS[1], 'inc')
if there == ARGV[2] then return 'ok' end
if there then return there end
if redis.call('EXISTS', KEYS[1]) == 1 then return redis.error_reply('ERR a user record has no incarnation') end
redis.call('HSET', KEYS[1], 'inc', ARGV[2], unpack(ARGV, 4))
if ARGV[3] ~= '' then
  redis.call('HSET', KEYS[1], 'pending', '1')
  redis.call('PEXPIRE', KEYS[1], ARGV[3])
else
  redis.call('SET', KEYS[2], 1, 'PX', ARGV[1])
end
return 'ok'
