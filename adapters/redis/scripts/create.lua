-- Creates an account or an authenticator of a user. KEYS: user, new key. ARGV: name of the list in the user's record, entry for that
-- list, value of the new key. Returns ok; taken if the new key exists; or owner if the user does not exist.
local user = redis.call('GET', KEYS[1])
if not user then return {'owner'} end
if redis.call('EXISTS', KEYS[2]) == 1 then return {'taken'} end
local record = cjson.decode(user)
local list = record[ARGV[3]] or {}
list[#list + 1] = ARGV[4]
record[ARGV[3]] = list
redis.call('MSET', KEYS[1], cjson.encode(record), KEYS[2], ARGV[5])
return {'ok'}
