-- Writes or deletes a session and its entry in the list of its user's sessions. The key of the list expires with the last session.
-- KEYS: session. ARGV: operation (create, update, delete or register); token; user ID (empty: unchanged); expiry in microseconds and
-- deadline of the key in milliseconds (empty: unchanged); entries of the list with an earlier deadline than this are removed; how
-- many milliseconds the key of a session lives longer than the session.
-- Returns ok and the session; absent; taken; or owner if the user does not exist.
-- On a cluster the session is in another slot than its user, so two scripts run. "register" writes the entry of the list: KEYS are
-- the user and the list, and it returns ok and the user's incarnation. The other operations write the session only. They have two
-- more ARGV: the incarnation of the user that must own the session, and of the new owner. If another user owns it, they return other.
local operation, token, id, expires, deadline = ARGV[3], ARGV[4], ARGV[5], ARGV[6], ARGV[7]

local function incarnation(id)
  local user = redis.call('GET', key('user', id))
  return user and cjson.decode(user).inc
end

local function register(id)
  local list = key('sessions', id)
  redis.call('ZADD', list, 'GT', deadline, token)
  redis.call('PEXPIREAT', list, redis.call('ZRANGE', list, -1, -1, 'WITHSCORES')[2])
  if operation ~= 'update' then redis.call('ZREMRANGEBYSCORE', list, '-inf', '(' .. ARGV[8]) end
  if operation ~= 'create' then redis.call('ZREM', list, '') end -- changes nothing, and finds out whether the right is there
end

if operation == 'register' then
  local inc = incarnation(id)
  if not inc then return {'owner'} end
  register(id)
  return {'ok', inc}
end

local value = redis.call('GET', KEYS[1])
local session = value and cjson.decode(value)
if strict then
  if session and session.inc ~= ARGV[10] then return {operation == 'create' and 'taken' or 'other'} end
elseif session and incarnation(session.user) ~= session.inc then
  session = nil
end
if operation == 'create' then
  if session then return {'taken'} end
  session = {}
elseif not session then
  return {'absent'}
end
local before = session.user
if operation == 'delete' then
  redis.call('UNLINK', KEYS[1])
  if not strict then redis.call('ZREM', key('sessions', before), token) end
  return {'ok', value}
end
if id ~= '' and id ~= before then
  session.user, session.inc = id, strict and ARGV[11] or incarnation(id)
  if not session.inc then return {'owner'} end
end
if expires ~= '' then session.expires = expires end
value = cjson.encode(session)
if deadline == '' then deadline = math.max(1, math.floor(tonumber(session.expires) / 1000) + ARGV[9]) end
if not strict then register(session.user) end
redis.call('SET', KEYS[1], value, 'PXAT', deadline)
if not strict and before and before ~= session.user then redis.call('ZREM', key('sessions', before), token) end
return {'ok', value}
