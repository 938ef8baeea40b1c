-- Called once per machine with the table `redis` and a function that makes of a caught error what a script may see, or
-- raises it again.
-- Returns the environment of scripts, sealed, and the globals behind the seal.
local redis, caught = ...

local getmetatable, setmetatable, type, select, error = getmetatable, setmetatable, type, select, error
local rawget, rawset, next, pairs = rawget, rawset, next, pairs

-- What a sealed table shows.
local shown = setmetatable({}, { __mode = 'k' })

local READONLY = 'Attempt to modify a readonly table'

local function readonly()
  error(READONLY, 2)
end

local function seal(original)
  local sealed = setmetatable({}, { __index = original, __newindex = readonly, __metatable = false })
  shown[sealed] = original
  return sealed
end

-- The results of a protected call, a caught error as `show` shows it.
local function settle(show, succeeded, ...)
  if succeeded then
    return true, ...
  end
  return false, show((...))
end

-- Redis' own pcall returns the text alone.
local function text_of(raised)
  raised = caught(raised)
  if type(raised) == 'table' then
    local text = raised.err
    if type(text) == 'string' or type(text) == 'number' then
      return text
    end
  end
  return raised
end

local raw_pcall, raw_xpcall, raw_resume = pcall, xpcall, coroutine.resume

local globals = {
  _VERSION = _VERSION,
  assert = assert,
  error = error,
  getmetatable = getmetatable,
  ipairs = ipairs,
  rawequal = rawequal,
  select = select,
  setmetatable = setmetatable,
  tonumber = tonumber,
  tostring = tostring,
  type = type,
  unpack = unpack,
  next = function(table, key)
    return next(shown[table] or table, key)
  end,
  pairs = function(table)
    return pairs(shown[table] or table)
  end,
  rawget = function(table, key)
    return rawget(shown[table] or table, key)
  end,
  rawset = function(table, key, value)
    if shown[table] then
      error(READONLY, 0)
    end
    return rawset(table, key, value)
  end,
  pcall = function(...)
    return settle(text_of, raw_pcall(...))
  end,
  xpcall = function(body, handler)
    return settle(caught, raw_xpcall(body, function(raised)
      return handler(caught(raised))
    end))
  end,
}

local function copy(library)
  local result = {}
  for name, member in pairs(library) do
    result[name] = member
  end
  return result
end

local coroutines, maths = copy(coroutine), copy(math)
coroutines.resume = function(...)
  return settle(caught, raw_resume(...))
end
maths.random, maths.randomseed = nil, nil

globals.string, globals.table = seal(string), seal(table)
globals.coroutine, globals.math = seal(coroutines), seal(maths)
globals.redis = seal(redis)
getmetatable('').__metatable = seal({ __index = globals.string })

setmetatable(globals, {
  __index = function(_, name)
    error("Script attempted to access nonexistent global variable '" .. tostring(name) .. "'", 2)
  end,
})
local environment = seal(globals)
rawset(globals, '_G', environment)
return environment, globals
