-- Writes a new user with all that begins with it, or gives something new to a user who is there. KEYS: user, new keys.
-- ARGV: the new user's record (empty: the user is there), list of the user's record and what to enter in it, values of
-- the new keys. Returns ok; taken and which of KEYS is there already; or owner if there is no such user.
local user = redis.call('GET', KEYS[1])
if ARGV[3] ~= '' then
  if user then return {'taken', 1} end
  user = ARGV[3]
else
  if not user then return {'owner'} end
  local record = cjson.decode(user)
  local list = record[ARGV[4]] or {}
  list[#list + 1] = ARGV[5]
  record[ARGV[4]] = list
  user = cjson.encode(record)
end
for i = 2, #KEYS do
  if redis.call('EXISTS', KEYS[i]) == 1 then return {'taken', i} end
end
redis.call('SET', KEYS[1], user)
for i = 2, #KEYS do redis.call('SET', KEYS[i], ARGV[4 + i]) end
return {'ok'}
