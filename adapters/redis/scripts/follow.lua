-- Reads a record and its owner. KEYS: record. ARGV: what user keys start with,
-- fields of the record. Returns their values, and those of the owner unless a
-- step of the owner's is unfinished.
local record = redis.call('HMGET', KEYS[1], 'nonce', 'owner', 'inc', unpack(ARGV, 2))
if not record[2] then return {record} end
local owner = redis.call('HMGET', ARGV[1] .. record[2] .. '}', 'inc', 'name', 'email', 'emailVerified', 'image', 'pending', 'nextClaim')
if owner[6] or owner[7] then return {record} end
owner[7] = nil
owner[6] = nil
return {record, owner}
