-- Makes a pending record final. KEYS: user, receipt. ARGV: milliseconds that the
-- receipt is kept, incarnation.
-- Returns 1 if the record is final or was, 0 if it is gone or another one.
if redis.call('EXISTS', KEYS[2]) == 1 then return 1 end
if redis.call('HGET', KEYS[1], 'inc') ~= ARGV[2] then return 0 end
redis.call('HDEL', KEYS[1], 'pending')
redis.call('PERSIST', KEYS[1])
redis.call('SET', KEYS[2], 1, 'PX', ARGV[1])
return 1
