-- Writes the intent to change the e-mail address, with all that changes along.
-- KEYS: user. ARGV: incarnation, claim of the intent that may be replaced (or
-- empty), new claim, new address, number of fields to set, field, value, ...,
-- fields to clear.
-- Returns 1; 0 if the record is gone, another one, or has another intent.
local r = redis.call('HMGET', KEYS[1], 'inc', 'nextClaim')
if r[1] ~= ARGV[1] then return 0 end
if r[2] == ARGV[3] then return 1 end
if (r[2] or '') ~= ARGV[2] then return 0 end
local changes = {}
for i = 5, #ARGV do changes[i - 4] = ARGV[i] end
redis.call('HSET', KEYS[1], 'nextClaim', ARGV[3], 'nextEmail', ARGV[4], 'next', cmsgpack.pack(changes))
return 1
