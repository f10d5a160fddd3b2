-- Deletes an authenticator. Also deletes the account of type webauthn that it is connected to, unless another authenticator is
-- connected to the same account.
-- KEYS: authenticator. ARGV: credential ID, user ID, "true" if another way in must remain. Returns ok and the record;
-- absent; other if the authenticator belongs to another user; or last if the user would have no authenticator, account or password.
local value = redis.call('GET', KEYS[1])
if not value then return {'absent'} end
local record = cjson.decode(value)
if record.user ~= ARGV[4] then return {'other'} end
local owner, nothing = key('user', record.user), none()
if #missing > 0 then return {'declare', missing} end
local user = cjson.decode(redis.call('GET', owner))

local own = key('password', record.user)
local authenticators, candidates, accounts, doomed = {}, {}, {}, {KEYS[1]}
for _, name in ipairs(user.authenticators) do
  if name ~= ARGV[3] then
    authenticators[#authenticators + 1] = name
    key('authenticator', name)
  end
end
for _, name in ipairs(user.accounts or {}) do
  if string.match(name, '^[^:]*:(.*)$') == record.providerAccountId then
    candidates[#candidates + 1] = name
    key('account', name)
  else
    accounts[#accounts + 1] = name
  end
end
if #missing > 0 then return {'declare', missing} end

local shared = false
for _, name in ipairs(authenticators) do
  local other = cjson.decode(redis.call('GET', key('authenticator', name)))
  if other.providerAccountId == record.providerAccountId then shared = true end
end
for _, name in ipairs(candidates) do
  local full = key('account', name)
  if not shared and cjson.decode(redis.call('GET', full)).type == 'webauthn' then
    doomed[#doomed + 1] = full
  else
    accounts[#accounts + 1] = name
  end
end
if ARGV[5] == 'true' and #authenticators + #accounts == 0 then
  local password = redis.call('GET', own)
  if not password or cjson.decode(password).inc ~= user.inc then return {'last'} end
end
user.authenticators = #authenticators > 0 and authenticators or nil
user.accounts = #accounts > 0 and accounts or nil
redis.call('UNLINK', nothing)
redis.call('SET', owner, cjson.encode(user))
for _, name in ipairs(doomed) do redis.call('UNLINK', name) end
return {'ok', value}
