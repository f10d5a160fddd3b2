-- Reads a record and the user to whom it leads, or what a user has. KEYS: record. ARGV: kind of the record (email, account,
-- session or user); of a user, which list of the user's, and the kind of what it names. Returns absent; or ok, the user's ID (of
-- a session, its record) and the user's record; or ok, names and values.
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
