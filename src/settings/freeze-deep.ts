/** Makes a value unchangeable all the way down. Functions stay as they are: they are the user's. */
export function freezeDeep<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value)
    for (const inner of Object.values(value)) freezeDeep(inner)
  }
  return value
}
