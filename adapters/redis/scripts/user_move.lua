-- Carries out an intent. KEYS: user, receipt. ARGV: milliseconds that the receipt
-- is kept, claim of the intent.
-- Returns 0 if there is no such intent any more, 1 if it was carried out before,
-- else the old address and its claim.
if redis.call('EXISTS', KEYS[2]) == 1 then return 1 end
local r = redis.call('HMGET', KEYS[1], 'nextClaim', 'nextEmail', 'next', 'claim', 'email')
if r[1] ~= ARGV[2] then return 0 end
local changes = cmsgpack.unpack(r[3])
local sets = tonumber(changes[1])
for i = 1, sets do redis.call('HSET', KEYS[1], changes[2 * i], changes[1 + 2 * i]) end
for i = 2 + 2 * sets, #changes do redis.call('HDEL', KEYS[1], changes[i]) end
redis.call('HSET', KEYS[1], 'email', r[2], 'claim', r[1])
redis.call('HDEL', KEYS[1], 'nextClaim', 'nextEmail', 'next')
redis.call('SET', KEYS[2], 1, 'PX', ARGV[1])
return {r[5] or '', r[4] or ''}
