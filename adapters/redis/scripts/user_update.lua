-- Sets and clears fields. KEYS: user, receipt. ARGV: milliseconds that the
-- receipt is kept, incarnation, number of fields to set, field, value, ...,
-- fields to clear.
-- Returns 1, or 0 if the record is gone or another one.
if redis.call('EXISTS', KEYS[2]) == 1 then return 1 end
if redis.call('HGET', KEYS[1], 'inc') ~= ARGV[2] then return 0 end
local sets = tonumber(ARGV[3])
for i = 1, sets do redis.call('HSET', KEYS[1], ARGV[2 + 2 * i], ARGV[3 + 2 * i]) end
for i = 4 + 2 * sets, #ARGV do redis.call('HDEL', KEYS[1], ARGV[i]) end
redis.call('SET', KEYS[2], 1, 'PX', ARGV[1])
return 1
