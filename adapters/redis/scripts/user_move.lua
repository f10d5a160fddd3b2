-- Carries out an intent. KEYS: user, receipt. ARGV: milliseconds that the receipt
-- is kept, claim of the intent.
-- Returns the fields of the user (userFields) as this left them, and unless it
-- was carried out before the old address and its claim; nothing if there is no
-- such intent any more.
local receipt = redis.call('GET', KEYS[2])
if receipt then return {cmsgpack.unpack(receipt)} end
local r = redis.call('HMGET', KEYS[1], 'nextClaim', 'nextEmail', 'next', 'claim', 'email')
if r[1] ~= ARGV[2] then return {} end
local changes = cmsgpack.unpack(r[3])
local sets = tonumber(changes[1])
for i = 1, sets do redis.call('HSET', KEYS[1], changes[2 * i], changes[1 + 2 * i]) end
for i = 2 + 2 * sets, #changes do redis.call('HDEL', KEYS[1], changes[i]) end
redis.call('HSET', KEYS[1], 'email', r[2], 'claim', r[1])
redis.call('HDEL', KEYS[1], 'nextClaim', 'nextEmail', 'next')
local user = redis.call('HMGET', KEYS[1], 'inc', 'name', 'email', 'emailVerified', 'image', 'claim', 'pending', 'nextClaim', 'nextEmail')
redis.call('SET', KEYS[2], cmsgpack.pack(user), 'PX', ARGV[1])
return {user, r[5] or '', r[4] or ''}
