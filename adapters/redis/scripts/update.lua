-- Changes fields of a record; a user's address moves along. KEYS: record. ARGV: the fields in JSON, null clears one; a
-- field and the value that it must have (both empty: no condition); ID if it is a user; deadline in milliseconds (empty:
-- as before). Returns ok and the record; absent; other if the condition does not hold; or taken
-- if the address is somebody else's.
local value = redis.call('GET', KEYS[1])
if not value then return {'absent'} end
local record = cjson.decode(value)
if ARGV[4] ~= '' and record[ARGV[4]] ~= ARGV[5] then return {'other'} end
local before = record.email
for field, to in pairs(cjson.decode(ARGV[3])) do
  if to == cjson.null then record[field] = nil else record[field] = to end
end
local new = record.email ~= before and record.email and key('email', record.email)
local old = record.email ~= before and before and key('email', before)
if #missing > 0 then return {'declare', missing} end
if new and redis.call('EXISTS', new) == 1 then return {'taken'} end
value = cjson.encode(record)
if ARGV[7] ~= '' then
  redis.call('SET', KEYS[1], value, 'PXAT', ARGV[7])
else
  redis.call('SET', KEYS[1], value, 'KEEPTTL')
end
if new then redis.call('SET', new, ARGV[6]) end
if old then redis.call('UNLINK', old) end
return {'ok', value}
