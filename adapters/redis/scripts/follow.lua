-- Reads a record and the user that it names, or the records that a user's list names. KEYS: record. ARGV: kind of the record (email,
-- account, session or user); for a user also the name of the list and the kind of its records. Returns absent; for an e-mail or
-- account ok, the user's ID and the user's record; for a session ok, the session and the user's record; for a user ok, the names
-- and the values.
local value = redis.call('GET', KEYS[1])
if not value then return {'absent'} end
if ARGV[3] == 'user' then
  local names, keys, values = cjson.decode(value)[ARGV[4]] or {}, {}, {}
  for i, name in ipairs(names) do keys[i] = key(ARGV[5], name) end
  if #missing > 0 then return {'declare', missing} end
  for i, full in ipairs(keys) do values[i] = redis.call('GET', full) end
  return {'ok', names, values}
end
local owner = value
if ARGV[3] ~= 'email' then owner = cjson.decode(value).user end
local user = redis.call('GET', key('user', owner))
if not user then return {'absent'} end
return {'ok', ARGV[3] == 'session' and value or owner, user}
