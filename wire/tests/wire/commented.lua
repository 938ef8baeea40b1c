-- KEYS[1] lock.
--no space
local text = '-- not a comment'
  -- An indented comment.

return text
