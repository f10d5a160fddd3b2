-- Changes fields of a record; a user's address moves along. KEYS: record. ARGV: a field and the value that it must
-- have (both empty: no condition); ID if it is a user; deadline in milliseconds (empty: as before); then each field that changes, and "="
-- with its value, or nothing to clear it. Returns ok and the record; absent; other if the condition does not hold; or taken
-- if another user has the address.
local value = redis.call('GET', KEYS[1])
if not value then return {'absent'} end
local record = cjson.decode(value)
if ARGV[3] ~= '' and record[ARGV[3]] ~= ARGV[4] then return {'other'} end
local before = record.email
for i = 7, #ARGV, 2 do record[ARGV[i]] = ARGV[i + 1] ~= '' and string.sub(ARGV[i + 1], 2) or nil end
local new = record.email ~= before and record.email and key('email', record.email)
local old = record.email ~= before and before and key('email', before)
if #missing > 0 then return {'declare', missing} end
if new and redis.call('EXISTS', new) == 1 then return {'taken'} end
value = cjson.encode(record)
if ARGV[6] ~= '' then
  redis.call('SET', KEYS[1], value, 'PXAT', ARGV[6])
else
  redis.call('SET', KEYS[1], value, 'KEEPTTL')
end
if new then redis.call('SET', new, ARGV[5]) end
if old then redis.call('UNLINK', old) end
return {'ok', value}
