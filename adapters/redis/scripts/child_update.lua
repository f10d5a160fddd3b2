-- Sets fields of a record that has an owner. KEYS: record, receipt. ARGV:
-- milliseconds that the receipt is kept, nonce of the record, deadline in
-- milliseconds (or empty), field, value, ...
-- Returns 1, or 0 if the record is gone or another one.
if redis.call('EXISTS', KEYS[2]) == 1 then return 1 end
if redis.call('HGET', KEYS[1], 'nonce') ~= ARGV[2] then return 0 end
redis.call('HSET', KEYS[1], unpack(ARGV, 4))
if ARGV[3] ~= '' then redis.call('PEXPIREAT', KEYS[1], ARGV[3]) end
redis.call('SET', KEYS[2], 1, 'PX', ARGV[1])
return 1
