-- Spends a verification token and leaves a receipt for the call that did, in
-- case its reply is lost. KEYS: token, receipt. ARGV: milliseconds that the
-- receipt is kept. Returns the expiry, or nil.
local receipt = redis.call('GET', KEYS[2])
if receipt then return receipt end
local expires = redis.call('GET', KEYS[1])
if not expires then return nil end
redis.call('DEL', KEYS[1])
redis.call('SET', KEYS[2], expires, 'PX', ARGV[1])
return expires
