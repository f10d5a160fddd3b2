-- Writes a session and enters it in the list of its user's sessions, which ends with the last of them. KEYS: session. ARGV:
-- create, update, delete or register; token; user ID (empty: as before); expiry in microseconds and the deadline of the key in
-- milliseconds (empty: as before); from which deadline on sessions stay listed; how many milliseconds a
-- session is kept beyond its expiry.
-- Returns ok and the session; absent; taken; or owner if the user does not exist.
-- On a cluster, where the session is in a slot of its own, "register" enters it in the list: KEYS are the user and the list,
-- and it returns ok and the user's incarnation. The others write the session alone. Two more ARGV are for them: the
-- incarnation of the user whose session it must be, and of the user to whom it is given. If it is another one's, they return other.
local operation, token, id, expires, deadline = ARGV[3], ARGV[4], ARGV[5], ARGV[6], ARGV[7]

local function incarnation(id)
  local user = redis.call('GET', key('user', id))
  return user and cjson.decode(user).inc
end

local function register(id)
  local list = key('sessions', id)
  if operation ~= 'update' then redis.call('ZREMRANGEBYSCORE', list, '-inf', '(' .. ARGV[8]) end
  redis.call('ZADD', list, 'GT', deadline, token)
  redis.call('PEXPIREAT', list, redis.call('ZRANGE', list, -1, -1, 'WITHSCORES')[2])
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
redis.call('SET', KEYS[1], value, 'PXAT', deadline)
if not strict then
  register(session.user)
  if before and before ~= session.user then redis.call('ZREM', key('sessions', before), token) end
end
return {'ok', value}
