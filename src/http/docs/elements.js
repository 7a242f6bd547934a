// Makes elements. Everything is made with text nodes, so that nothing in the OpenAPI document can
// become markup.
export const at = (id) => document.getElementById(id)

export function make(tag, options, ...children) {
  const element = document.createElement(tag)
  Object.assign(element, options)
  element.append(...children.filter((child) => child !== null && child !== undefined))
  return element
}

export const code = (text) => make('code', {}, text)
export const badge = (method) => make('span', { className: `method ${method}` }, method)

/** Text between backticks is code. */
export function ticked(text) {
  return text.split('`').map((part, index) => (index % 2 === 1 ? code(part) : part))
}

export const paragraphs = (text) => text.split('\n\n').map((part) => make('p', {}, ...ticked(part)))

/** A path may break after a slash, where it reads best. */
export function breakable(path) {
  return path.split(/(?<=\/)/).flatMap((part) => [make('wbr', {}), part])
}
