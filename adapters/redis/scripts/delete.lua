-- Deletes an account, or a user with all the user's records. KEYS: record. ARGV: kind of the record, its name, prefix of the keys of
-- sessions, how many sessions may be deleted at once. Returns absent; or ok and the record. If sessions are left it also returns the
-- user's incarnation; these sessions are not valid any more and are listed under ended:incarnation. A command that
-- deletes is the first, so that the script works when memory is full.
local value = redis.call('GET', KEYS[1])
if not value then return {'absent'} end
local record = cjson.decode(value)

if ARGV[3] == 'account' then
  local owner, nothing = key('user', record.user), none()
  if #missing > 0 then return {'declare', missing} end
  local user = cjson.decode(redis.call('GET', owner))
  local kept = {}
  for _, name in ipairs(user.accounts) do
    if name ~= ARGV[4] then kept[#kept + 1] = name end
  end
  user.accounts = #kept > 0 and kept or nil
  redis.call('UNLINK', nothing)
  redis.call('SET', owner, cjson.encode(user))
  redis.call('UNLINK', KEYS[1])
  return {'ok', value}
end

local doomed = {KEYS[1]}
if record.email then doomed[2] = key('email', record.email) end
for _, name in ipairs(record.accounts or {}) do doomed[#doomed + 1] = key('account', name) end
for _, name in ipairs(record.authenticators or {}) do doomed[#doomed + 1] = key('authenticator', name) end
doomed[#doomed + 1] = key('password', ARGV[4])
local sessions, ended = key('sessions', ARGV[4]), key('ended', record.inc)
if #missing > 0 then return {'declare', missing} end
local limit = tonumber(ARGV[6])
local tokens = redis.call('ZRANGE', sessions, 0, limit)
local apart = #tokens > limit or strict and #tokens > 0
if not apart then
  doomed[#doomed + 1] = sessions
  for _, token in ipairs(tokens) do
    local session = redis.call('GET', ARGV[5] .. token)
    local read, is = pcall(cjson.decode, session or '')
    if read and type(is) == 'table' and is.inc == record.inc then doomed[#doomed + 1] = ARGV[5] .. token end
  end
end
for i = 1, #doomed, 1000 do redis.call('UNLINK', (unpack or table.unpack)(doomed, i, math.min(i + 999, #doomed))) end
if apart then redis.call('RENAME', sessions, ended) end
return {'ok', value, apart and record.inc or ''}
