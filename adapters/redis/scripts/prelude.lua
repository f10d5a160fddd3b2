--!df flags=allow-undeclared-keys
-- What all scripts begin with; Dragonfly reads the line above. ARGV[1] is "true" if a script may touch no keys but
-- those in KEYS, as on a cluster; ARGV[2] is what the names of keys in the shared slot begin with. A script returns a
-- word and what goes with it. {"declare", names} asks for another run with these names in KEYS; nothing was written.
local declared, missing = {}, {}
for _, name in ipairs(KEYS) do declared[name] = true end
local function key(kind, name)
  local full = ARGV[2] .. kind .. ':' .. name
  if ARGV[1] == 'true' and not declared[full] then missing[#missing + 1] = full end
  return full
end
