-- Removes a record that is still pending. KEYS: user. ARGV: incarnation.
local r = redis.call('HMGET', KEYS[1], 'inc', 'pending')
if r[1] == ARGV[1] and r[2] then return redis.call('DEL', KEYS[1]) end
return 0
