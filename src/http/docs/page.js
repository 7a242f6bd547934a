// Asks for a token, fetches the OpenAPI document with it and shows it. Everything is made with
// text nodes, so that nothing in the document can become markup; the token is never stored.
const at = (id) => document.getElementById(id)
const methods = ['get', 'post', 'put', 'patch', 'delete']

function make(tag, options, ...children) {
  const element = document.createElement(tag)
  Object.assign(element, options)
  element.append(...children.filter((child) => child !== null && child !== undefined))
  return element
}

const code = (text) => make('code', {}, text)
const soft = (text) => make('span', { className: 'soft' }, text)

at('ask').addEventListener('submit', async (event) => {
  event.preventDefault()
  const token = at('token').value.trim()
  at('refusal').textContent = ''
  try {
    const answer = await fetch('/openapi.json', { headers: { authorization: `Bearer ${token}` } })
    const body = await answer.json()
    if (!answer.ok) throw new Error(body.detail ?? answer.statusText)
    at('token').value = ''
    show(body)
  } catch (error) {
    at('refusal').textContent = error instanceof Error ? error.message : String(error)
  }
})

function show(api) {
  at('version').textContent = `${api.info.version} · ${api.info.description}`
  const operations = Object.entries(api.paths).flatMap(([path, item]) =>
    methods
      .filter((method) => item[method])
      .map((method) => ({ ...item[method], path, method, anchor: item[method].operationId })),
  )
  for (const tag of api.tags) {
    const own = operations.filter((operation) => operation.tags?.includes(tag.name))
    if (own.length === 0) continue
    at('contents').append(make('h3', {}, tag.name), ...own.map(link))
    at('operations').append(
      make('h2', {}, tag.name),
      make('p', { className: 'soft' }, tag.description ?? ''),
      ...own.map((operation) => article(api, operation)),
    )
  }
  at('door').hidden = true
  at('reference').hidden = false
  if (location.hash)
    document.querySelector(`#${CSS.escape(location.hash.slice(1))}`)?.scrollIntoView()
}

function link(operation) {
  return make('a', { href: `#${operation.anchor}` }, badge(operation.method), operation.summary)
}

const badge = (method) => make('span', { className: `method ${method}` }, method)

function article(api, operation) {
  const body = jsonSchema(operation.requestBody)
  const parameters = operation.parameters ?? []
  return make(
    'article',
    { className: 'card', id: operation.anchor },
    make('h3', {}, operation.summary),
    make('p', { className: 'path' }, badge(operation.method), operation.path),
    operation.description ? make('p', {}, ...ticked(operation.description)) : null,
    ...titled('Parameters', parameters.length > 0 ? parameterList(api, parameters) : null),
    ...titled('Body', body ? shape(api, body) : null),
    ...titled('Answers', answers(api, operation.responses ?? {})),
    ...titled('Example', make('pre', {}, curl(api, operation, body))),
  )
}

const titled = (title, content) => (content === null ? [] : [make('h4', {}, title), content])

function parameterList(api, parameters) {
  const rows = parameters.map(({ name, schema, required, description, in: place }) =>
    row(
      api,
      `${name}`,
      { ...schema, description: description ?? schema?.description },
      required,
      place,
    ),
  )
  return make('ul', { className: 'fields' }, ...rows)
}

function answers(api, responses) {
  const rows = Object.entries(responses).map(([status, response]) => {
    const schema = jsonSchema(response)
    const head = [code(status), ' ', ...ticked(response.description ?? '')]
    if (!schema || Number(status) >= 400) return make('div', {}, ...head)
    return make('details', {}, make('summary', {}, ...head), shape(api, schema))
  })
  return make('div', {}, ...rows)
}

const jsonSchema = (holder) => Object.values(holder?.content ?? {})[0]?.schema

function resolve(api, schema) {
  const name = schema?.$ref?.split('/').at(-1)
  return name
    ? { title: name.replace(/Input$/, ''), ...api.components.schemas[name] }
    : (schema ?? {})
}

/** Fields of an object, or of each form that a value may have. */
function shape(api, given) {
  const schema = resolve(api, given)
  const choices = (schema.anyOf ?? schema.oneOf ?? []).filter(({ type }) => type !== 'null')
  if (choices.length > 0) {
    const parts = choices.flatMap((choice, index) => [
      index > 0 ? make('p', { className: 'soft' }, 'or') : null,
      shape(api, choice),
    ])
    return make('div', {}, ...parts)
  }
  if (schema.type === 'array') return make('div', {}, soft('a list of'), shape(api, schema.items))
  if (!schema.properties) return soft(typeName(api, schema))
  const required = new Set(schema.required ?? [])
  const rows = Object.entries(schema.properties).map(([name, field]) =>
    row(api, name, field, required.has(name)),
  )
  return make('ul', { className: 'fields' }, ...rows)
}

function row(api, name, given, required, place) {
  const schema = resolve(api, given)
  const about = given.description ?? schema.description
  const nested = schema.properties || schema.items?.$ref || schema.items?.properties
  return make(
    'li',
    {},
    code(name),
    ' ',
    soft([typeName(api, schema), limits(schema), place].filter(Boolean).join(' · ')),
    required ? make('span', { className: 'required' }, ' required') : null,
    about ? make('div', {}, ...ticked(about)) : null,
    nested
      ? make('details', {}, make('summary', { className: 'soft' }, 'fields'), shape(api, schema))
      : null,
  )
}

function typeName(api, given) {
  const schema = resolve(api, given)
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(' | ')
  if (schema.const !== undefined) return JSON.stringify(schema.const)
  const choices = schema.anyOf ?? schema.oneOf
  if (choices) return choices.map((choice) => typeName(api, choice)).join(' | ')
  if (schema.type === 'array') return `list of ${typeName(api, schema.items)}`
  return schema.format ?? schema.title ?? schema.type ?? 'any JSON'
}

function limits(schema) {
  const { minimum, maximum, maxLength, default: preset } = schema
  const largest = maximum === Number.MAX_SAFE_INTEGER ? undefined : maximum
  return [
    minimum !== undefined && minimum > Number.MIN_SAFE_INTEGER ? `≥ ${minimum}` : '',
    largest === undefined ? '' : `≤ ${largest}`,
    maxLength === undefined ? '' : `≤ ${maxLength} characters`,
    preset === undefined ? '' : `default ${JSON.stringify(preset)}`,
  ]
    .filter(Boolean)
    .join(', ')
}

/** Text between backticks is code. */
function ticked(text) {
  return text.split('`').map((part, index) => (index % 2 === 1 ? code(part) : part))
}

function curl(api, operation, body) {
  const lines = [`curl ${location.origin}${operation.path}`]
  if (operation.method !== 'get')
    lines[0] = lines[0].replace('curl', `curl -X ${operation.method.toUpperCase()}`)
  if (operation.security?.length !== 0) lines.push("-H 'Authorization: Bearer TOKEN'")
  if (body) {
    lines.push("-H 'Content-Type: application/json'", `-d '${JSON.stringify(example(api, body))}'`)
  }
  return lines.join(' \\\n  ')
}

/** The required fields with a value that shows their kind. */
function example(api, given) {
  const schema = resolve(api, given)
  const first = (schema.anyOf ?? schema.oneOf)?.[0]
  if (first) return example(api, first)
  if (schema.examples) return schema.examples[0]
  if (schema.enum) return schema.enum[0]
  if (schema.properties) {
    const wanted = Object.keys(schema.properties).filter(
      (name) => schema.required?.includes(name) || name === 'lease_token',
    )
    return Object.fromEntries(wanted.map((name) => [name, example(api, schema.properties[name])]))
  }
  if (schema.type === 'integer') return schema.minimum > 0 ? schema.minimum : 0
  if (schema.type === 'array') return [example(api, schema.items)]
  return schema.type === 'boolean' ? true : '…'
}
