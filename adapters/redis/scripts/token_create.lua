-- Keeps a verification token. KEYS: token, receipt. ARGV: milliseconds that the
-- receipt is kept, expiry, deadline in milliseconds.
if redis.call('EXISTS', KEYS[2]) == 1 then return 1 end
redis.call('SET', KEYS[1], ARGV[2])
redis.call('PEXPIREAT', KEYS[1], ARGV[3])
redis.call('SET', KEYS[2], 1, 'PX', ARGV[1])
return 1
