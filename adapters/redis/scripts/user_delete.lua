-- Deletes a user record and lists what is registered as the user's, the claims
-- to addresses among it. KEYS: user, register of claims, other registers. ARGV:
-- incarnation of the record to delete, or empty if there is none; fields.
-- Returns the values of the fields and the entries of each register, or 0 if the
-- record is another one.
local r = redis.call('HMGET', KEYS[1], unpack(ARGV, 2))
local there = redis.call('HMGET', KEYS[1], 'inc', 'claim', 'email', 'nextClaim', 'nextEmail')
if there[1] then
  if there[1] ~= ARGV[1] then return 0 end
  for i = 2, 4, 2 do
    if there[i] then redis.call('ZADD', KEYS[2], 0, there[i] .. ':' .. there[i + 1]) end
  end
  redis.call('DEL', KEYS[1])
end
local answer = {r}
for i = 2, #KEYS do answer[i] = redis.call('ZRANGE', KEYS[i], 0, -1) end
return answer
