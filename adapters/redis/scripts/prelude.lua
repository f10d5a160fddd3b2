--!df flags=allow-undeclared-keys
-- All scripts begin with this text; Dragonfly reads the line above. ARGV[1] is "true" if a script may use only the keys in KEYS, as
-- on a cluster. ARGV[2] is the prefix of the keys in the shared slot. A script returns a word and the values that belong to it.
-- {"declare", names} means: nothing was written; run the script again with these names in KEYS.
-- The user of the server may lose a right. So a script writes last what makes a record valid, or takes it away.
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

-- No key has this name. UNLINK of it changes nothing: it finds out whether the right to delete is there, before a script writes.
-- After it a script may also write when memory is full.
local function none() return key('none', '') end
