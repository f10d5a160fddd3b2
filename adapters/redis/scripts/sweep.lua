-- Deletes the expired sessions and verification tokens among KEYS, and the sessions of one incarnation of a user.
-- ARGV: now in microseconds (empty: none is expired), incarnation (empty: of no user). Returns ok, the number of sessions and the
-- number of tokens that it deleted. A record that can't be decoded stays.
local now, sessions, tokens = tonumber(ARGV[3]), 0, 0
local function over(expires)
  local at = tonumber(expires)
  return at and now and at <= now
end
for _, name in ipairs(KEYS) do
  if redis.call('TYPE', name).ok == 'hash' then
    local all = redis.call('HGETALL', name)
    for i = 1, #all, 2 do
      if over(all[i + 1]) then tokens = tokens + redis.call('HDEL', name, all[i]) end
    end
  else
    local value = redis.call('GET', name)
    local read, session = pcall(cjson.decode, value or '')
    if read and type(session) == 'table' and (over(session.expires) or session.inc == ARGV[4]) then sessions = sessions + redis.call('UNLINK', name) end
  end
end
return {'ok', sessions, tokens}
