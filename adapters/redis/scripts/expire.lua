-- Removes a session or verification token that has expired. KEYS: record. ARGV:
-- now, as expiries are kept. Returns how many records were removed.
local expires
if redis.call('TYPE', KEYS[1]).ok == 'hash' then
  expires = redis.call('HGET', KEYS[1], 'expires')
else
  expires = redis.call('GET', KEYS[1])
end
expires = tonumber(expires or '')
if expires and expires <= tonumber(ARGV[1]) then return redis.call('DEL', KEYS[1]) end
return 0
