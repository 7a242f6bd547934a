// Shows JSON schemas: their fields as lists that open, their types in words, and an example.
import { code, make, ticked } from './elements.js'

export const jsonSchema = (holder) => Object.values(holder?.content ?? {})[0]?.schema

function resolve(api, schema) {
  const name = schema?.$ref?.split('/').at(-1)
  return name
    ? { title: name.replace(/Input$/, ''), ...api.components.schemas[name] }
    : (schema ?? {})
}

/** The forms a value may have, without null. */
export function formsOf(api, given) {
  const schema = resolve(api, given)
  const forms = schema.anyOf ?? schema.oneOf ?? [schema]
  return forms.map((form) => resolve(api, form)).filter(({ type }) => type !== 'null')
}

export const hasFields = (schema) => Object.keys(schema.properties ?? {}).length > 0

/** What can be opened below a field: its own fields, or those of the items of its list. */
function innerForms(api, given) {
  return formsOf(api, given)
    .flatMap((form) => (form.type === 'array' ? formsOf(api, form.items) : [form]))
    .filter(hasFields)
}

/** `isRequest`: only a request has required fields. */
export function fieldList(api, schema, isRequest) {
  const required = new Set(isRequest ? schema.required : [])
  const rows = Object.entries(schema.properties ?? {}).map(([name, field]) =>
    fieldRow(api, { name, schema: field, required: required.has(name), isRequest }),
  )
  return make('ul', { className: 'fields' }, ...rows)
}

export function fieldRow(api, { name, schema: given, required, isRequest, place }) {
  const schema = resolve(api, given)
  const about = given.description ?? schema.description
  const facts = [place, ...limits(formsOf(api, given)[0] ?? {}), defaultText(schema)].filter(
    Boolean,
  )
  return make(
    'li',
    {},
    make('span', { className: 'name' }, name),
    make('span', { className: 'type' }, ...typeNames(api, given)),
    required ? make('span', { className: 'required' }, 'required') : null,
    about ? make('p', {}, ...ticked(about)) : null,
    facts.length > 0 ? make('p', { className: 'facts' }, facts.join(' · ')) : null,
    ...innerForms(api, given).map((form) =>
      make(
        'details',
        {},
        make('summary', {}, `Fields of ${form.title ?? name}`),
        fieldList(api, form, isRequest),
      ),
    ),
  )
}

function typeNames(api, given) {
  const schema = resolve(api, given)
  const choices = schema.anyOf ?? schema.oneOf
  const names = choices
    ? choices.map((choice) => typeNames(api, choice))
    : schema.enum
      ? schema.enum.map((value) => [code(String(value))])
      : [schema.type].flat().map((type) => [plainType(api, schema, type)])
  return names.flatMap((parts, index) => (index === 0 ? parts : [' | ', ...parts]))
}

function plainType(api, schema, type) {
  if (schema.const !== undefined) return code(String(schema.const))
  if (type === 'array') {
    const item = formsOf(api, schema.items)[0] ?? {}
    return `list of ${item.title ?? [item.type].flat()[0] ?? 'any JSON'}`
  }
  if (type === 'null') return 'null'
  return schema.title ?? schema.format ?? type ?? 'any JSON'
}

function limits({ minimum, maximum, maxLength }) {
  const least = minimum > Number.MIN_SAFE_INTEGER ? minimum : undefined
  const most = maximum < Number.MAX_SAFE_INTEGER ? maximum : undefined
  const longest = maxLength === undefined ? '' : `at most ${grouped(maxLength)} characters`
  if (least !== undefined && most !== undefined) return [`${grouped(least)} to ${grouped(most)}`]
  return [least === undefined ? '' : `${grouped(least)} or more`, longest]
}

const grouped = (number) => number.toLocaleString('en')
const defaultText = (schema) => (schema.default === undefined ? '' : `default ${schema.default}`)

/** The required fields, each with a value that shows its kind. */
export function example(api, given) {
  const [schema = {}] = formsOf(api, given)
  if (given?.examples ?? schema.examples) return (given?.examples ?? schema.examples)[0]
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
