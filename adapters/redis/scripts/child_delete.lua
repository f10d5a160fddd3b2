-- Deletes a record that has an owner. KEYS: record. ARGV: nonce of the record,
-- incarnation of its owner (or empty: any).
local r = redis.call('HMGET', KEYS[1], 'nonce', 'inc')
if r[1] ~= ARGV[1] or ARGV[2] ~= '' and r[2] ~= ARGV[2] then return 0 end
return redis.call('DEL', KEYS[1])
