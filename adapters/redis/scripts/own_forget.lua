-- Removes entries from a register. KEYS: user, register. ARGV: entries.
-- Returns the incarnation of the user, or nil if there is none.
for i = 1, #ARGV do redis.call('ZREM', KEYS[2], ARGV[i]) end
return redis.call('HGET', KEYS[1], 'inc')
