-- Creates a user with a password, or reads, writes or deletes the password of a user. A password belongs to the user only if it names
-- the same incarnation. KEYS: user, password; for create also the e-mail, if there is one. ARGV: operation (create, get, set, swap or
-- delete); for create the values of the keys; for set the new hash and state; for swap those that must be stored, and the new ones; for
-- delete "true" if one account or authenticator must remain. Returns ok and the password, for create ok; absent; taken; owner if the
-- user does not exist; or last if the user would have neither an authenticator nor an account.
local operation, value = ARGV[3], redis.call('GET', KEYS[1])
if operation == 'create' then
  if value or KEYS[3] and redis.call('EXISTS', KEYS[3]) == 1 then return {'taken'} end
  local set = {}
  for i, name in ipairs(KEYS) do set[2 * i - 1], set[2 * i] = name, ARGV[3 + i] end
  redis.call('MSET', (unpack or table.unpack)(set))
  return {'ok'}
end
if not value then return {operation == 'set' and 'owner' or 'absent'} end
local user, stored = cjson.decode(value), redis.call('GET', KEYS[2])
local password = stored and cjson.decode(stored)
if password and password.inc ~= user.inc then password = nil end
local hash, state = ARGV[4], ARGV[5]
if operation ~= 'set' and not password then return {'absent'} end
if operation == 'get' then return {'ok', stored} end
if operation == 'delete' then
  if ARGV[4] == 'true' and #(user.accounts or {}) + #(user.authenticators or {}) == 0 then return {'last'} end
  redis.call('UNLINK', KEYS[2])
  return {'ok', stored}
end
if operation == 'swap' then
  if password.hash ~= hash or (password.state or '') ~= state then return {'absent'} end
  hash, state = ARGV[6], ARGV[7]
end
stored = cjson.encode({inc = user.inc, hash = hash, state = state ~= '' and state or nil})
redis.call('SET', KEYS[2], stored)
return {'ok', stored}
