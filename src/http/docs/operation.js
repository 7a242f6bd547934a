// Shows one operation: what it does, who may call it, its input and answers, and an example.
import { badge, breakable, code, make, paragraphs, ticked } from './elements.js'
import { example, fieldList, fieldRow, formsOf, hasFields, jsonSchema } from './schema.js'

export function article(api, operation) {
  const body = jsonSchema(operation.requestBody)
  const forms = body ? formsOf(api, body).filter(hasFields) : []
  const lists = forms.map((form) => fieldList(api, form, true))
  const parameters = operation.parameters ?? []
  const inUrl = parameters.filter((parameter) => parameter.in !== 'header')
  const headers = parameters.filter((parameter) => parameter.in === 'header')
  const calls = (forms.length > 0 ? forms : [null]).map((form) => call(api, operation, form))
  const description = make(
    'div',
    { className: 'description' },
    make('h3', {}, operation.summary),
    make('p', { className: 'path' }, badge(operation.method), ...breakable(operation.path)),
    ...(operation.description ? paragraphs(operation.description) : []),
    scopes(operation['x-scopes']),
    ...titled('Parameters', parameterList(api, inUrl)),
    ...titled(operation.requestBody?.required === false ? 'Body (may be left out)' : 'Body', [
      forms.length > 1 ? formSwitch(forms, [lists, calls]) : null,
      ...lists,
    ]),
    ...titled('Headers', parameterList(api, headers)),
    ...titled('Answers', answers(api, operation)),
  )
  const examples = make('div', { className: 'examples' }, ...calls)
  return make('article', { className: 'card', id: operation.operationId }, description, examples)
}

function titled(title, parts) {
  const given = parts.filter((part) => part !== null)
  return given.length === 0 ? [] : [make('h4', {}, title), ...given]
}

function scopes(names) {
  if (!names) return make('p', { className: 'facts' }, 'No token needed')
  const texts = names.map((name) => (name === 'run' ? "the run's own token" : name))
  return make('p', { className: 'facts' }, `Token scope: ${texts.join(', ')}`)
}

function parameterList(api, parameters) {
  const rows = parameters.map(({ name, schema, required, description, in: place }) =>
    fieldRow(api, {
      name,
      schema: { ...schema, description: description ?? schema?.description },
      required,
      isRequest: true,
      place: place === 'header' ? null : `in the ${place}`,
    }),
  )
  return rows.length === 0 ? [] : [make('ul', { className: 'fields' }, ...rows)]
}

/** Buttons that choose one form of the body, for the list of fields and for the example. */
function formSwitch(forms, groups) {
  const buttons = forms.map((form, index) => {
    const button = make('button', { type: 'button' }, form.title)
    button.addEventListener('click', () => choose(index))
    return button
  })
  function choose(chosen) {
    buttons.forEach((button, index) => (button.ariaPressed = String(index === chosen)))
    for (const parts of groups) parts.forEach((part, index) => (part.hidden = index !== chosen))
  }
  choose(0)
  return make('div', { className: 'switch', role: 'group', ariaLabel: 'Form' }, ...buttons)
}

/** Answers that a caller has to handle are open. Refusals that every operation has are folded. */
function answers(api, operation) {
  const all = Object.entries(operation.responses ?? {})
  const isPlain = ([status]) => Number(status) >= 400 && status !== '409'
  const own = all.filter((answer) => !isPlain(answer))
  const plain = all.filter(isPlain)
  return [
    ...own.map(([status, response]) => answer(api, operation, status, response)),
    make(
      'details',
      { className: 'answer' },
      make('summary', {}, 'Refusals: ', plain.map(([status]) => status).join(', ')),
      ...plain.map(([status, { description }]) =>
        make('div', { className: 'answer' }, chip(status), ...ticked(description ?? '')),
      ),
    ),
  ]
}

function answer(api, operation, status, response) {
  if (status === '409') return conflicts(operation)
  const [schema] = formsOf(api, jsonSchema(response))
  const items = schema?.type === 'array' ? formsOf(api, schema.items)[0] : schema
  const head = [chip(status), ...ticked(response.description ?? '')]
  if (!items || !hasFields(items)) return make('div', { className: 'answer' }, ...head)
  return make(
    'details',
    { className: 'answer' },
    make('summary', {}, ...head),
    fieldList(api, items, false),
  )
}

function conflicts(operation) {
  const rows = (operation['x-conflicts'] ?? []).map(({ code: name, meaning }) =>
    make('li', {}, make('span', { className: 'name' }, name), make('p', {}, ...ticked(meaning))),
  )
  return make(
    'div',
    { className: 'answer' },
    chip('409'),
    'The state of things does not allow it. ',
    code('code'),
    ' is one of:',
    make('ul', { className: 'fields' }, ...rows),
  )
}

const chip = (status) => make('span', { className: `status s${status[0]}` }, status)

function call(api, operation, form) {
  const text = curl(api, operation, form)
  const pre = make('pre', {}, make('code', {}, text))
  const button = make('button', { type: 'button', className: 'quiet' }, 'Copy')
  button.addEventListener('click', async () => {
    try {
      await navigator.clipboard.writeText(text)
      button.textContent = 'Copied'
    } catch {
      // Without https a page may not write to the clipboard. People can copy the selected text.
      getSelection().selectAllChildren(pre)
      button.textContent = 'Selected'
    }
  })
  for (const event of ['blur', 'mouseleave']) {
    button.addEventListener(event, () => (button.textContent = 'Copy'))
  }
  return make('figure', {}, make('figcaption', {}, make('span', {}, 'curl'), button), pre)
}

function curl(api, operation, form) {
  const thing = operation.path.includes('/tokens') ? 'TOKEN_ID' : 'RUN_ID'
  const url = `${location.origin}${operation.path.replace('{id}', thing)}`
  const verb = operation.method === 'get' ? '' : `-X ${operation.method.toUpperCase()} `
  const lines = [`curl ${verb}${url}`]
  if (operation.security?.length !== 0) lines.push('-H "Authorization: Bearer $TOKEN"')
  if (form) {
    const body = JSON.stringify(example(api, form), null, 2).replaceAll('\n', '\n  ')
    lines.push("-H 'Content-Type: application/json'", `-d '${body}'`)
  }
  return lines.join(' \\\n  ')
}
