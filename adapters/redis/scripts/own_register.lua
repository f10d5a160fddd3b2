-- Registers something as the user's before it is written, so that whatever is
-- written is found when the user is deleted. KEYS: user, register. ARGV: entry
-- without the incarnation, score, score below which entries are dropped (or
-- empty). Returns the incarnation, or nil if there is no user, or 0 if the user
-- is pending.
local r = redis.call('HMGET', KEYS[1], 'inc', 'pending')
if not r[1] then return nil end
if r[2] then return 0 end
if ARGV[3] ~= '' then redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', '(' .. ARGV[3]) end
redis.call('ZADD', KEYS[2], ARGV[2], r[1] .. ':' .. ARGV[1])
return r[1]
