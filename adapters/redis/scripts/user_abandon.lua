-- Gives an intent up. KEYS: user. ARGV: claim of the intent.
if redis.call('HGET', KEYS[1], 'nextClaim') ~= ARGV[1] then return 0 end
return redis.call('HDEL', KEYS[1], 'nextClaim', 'nextEmail', 'next')
