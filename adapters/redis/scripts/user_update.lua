-- Sets and clears fields. KEYS: user, receipt. ARGV: milliseconds that the
-- receipt is kept, incarnation, number of fields to set, field, value, ...,
-- fields to clear.
-- Returns the fields of the user (userFields) as this update left them, or
-- nothing if the record is gone or another one. The receipt holds the answer, so
-- that it is the same when the update is repeated.
local receipt = redis.call('GET', KEYS[2])
if receipt then return cmsgpack.unpack(receipt) end
if redis.call('HGET', KEYS[1], 'inc') ~= ARGV[2] then return {} end
local sets = tonumber(ARGV[3])
for i = 1, sets do redis.call('HSET', KEYS[1], ARGV[2 + 2 * i], ARGV[3 + 2 * i]) end
for i = 4 + 2 * sets, #ARGV do redis.call('HDEL', KEYS[1], ARGV[i]) end
local user = redis.call('HMGET', KEYS[1], 'inc', 'name', 'email', 'emailVerified', 'image', 'claim', 'pending', 'nextClaim', 'nextEmail')
redis.call('SET', KEYS[2], cmsgpack.pack(user), 'PX', ARGV[1])
return user
