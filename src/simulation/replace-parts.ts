/** The same object with some parts replaced; the other methods keep their `this`. */
export function replaceParts<T extends object>(whole: T, changed: Partial<T>): T {
  return new Proxy(whole, {
    get: (target, name) => {
      const part: unknown = Reflect.get(changed, name) ?? Reflect.get(target, name)
      return typeof part === 'function' ? (part.bind(target) as unknown) : part
    },
  })
}
