-- Changes fields of a record, and the key of a user's e-mail with it. KEYS: record. ARGV: a field and the value that it must have
-- (both empty: no condition); the ID if the record is a user; the new fields as JSON; then the name of each field to change, which is
-- cleared if the JSON lacks it. Returns ok and the record; absent; other if the condition does not hold; or taken if another user
-- has the e-mail. Another e-mail clears emailVerified, unless that is changed too.
local value = redis.call('GET', KEYS[1])
if not value then return {'absent'} end
local record, change = cjson.decode(value), cjson.decode(ARGV[6])
if ARGV[3] ~= '' and record[ARGV[3]] ~= ARGV[4] then return {'other'} end
local before = record.email
for i = 7, #ARGV do
  if ARGV[i] == 'email' and change.email ~= before then record.emailVerified = nil end
end
for i = 7, #ARGV do record[ARGV[i]] = change[ARGV[i]] end
local new = record.email ~= before and record.email and key('email', record.email)
local old = record.email ~= before and before and key('email', before)
local nothing = old and none()
if #missing > 0 then return {'declare', missing} end
if new and redis.call('EXISTS', new) == 1 then return {'taken'} end
value = cjson.encode(record)
if old then redis.call('UNLINK', nothing) end
redis.call('SET', KEYS[1], value)
if new then redis.call('SET', new, ARGV[5]) end
if old then redis.call('UNLINK', old) end
return {'ok', value}
