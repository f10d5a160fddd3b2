--!df flags=allow-undeclared-keys
-- What all scripts begin with; Dragonfly reads the line above. ARGV[1] is "true" if a script may touch no keys but
-- those in KEYS, as on a cluster; ARGV[2] is what the names of keys in the shared slot begin with. A script returns a
-- word and what goes with it. {"declare", names} asks for another run with these names in KEYS; nothing was written.
local strict, missing = ARGV[1] == 'true', {}
local function key(kind, name)
  local full = ARGV[2] .. kind .. ':' .. name
  if strict then
    for _, declared in ipairs(KEYS) do
      if declared == full then return full end
    end
    missing[#missing + 1] = full
  end
  return full
end
