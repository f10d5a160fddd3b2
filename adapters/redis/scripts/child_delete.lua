-- Deletes a record that has an owner. KEYS: record. ARGV: nonce of the record,
-- incarnation of its owner (or empty: any), field, ...
-- Returns the values of the fields as they were last, or nothing if the record
-- is gone or another one.
local r = redis.call('HMGET', KEYS[1], 'nonce', 'inc')
if r[1] ~= ARGV[1] or ARGV[2] ~= '' and r[2] ~= ARGV[2] then return {} end
local values = {}
if ARGV[3] then values = redis.call('HMGET', KEYS[1], unpack(ARGV, 3)) end
redis.call('DEL', KEYS[1])
return values
