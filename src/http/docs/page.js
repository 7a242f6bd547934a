// Asks for a token, fetches the OpenAPI document with it and shows it. The token is kept for this
// tab, so that a reload does not ask again, and goes to this server only.
import { at, badge, breakable, make, ticked } from './elements.js'
import { article } from './operation.js'

const methods = ['post', 'put', 'patch', 'get', 'delete']
const tokenKey = 'holdfast-token'
const wide = matchMedia('(min-width: 56rem)')

at('ask').addEventListener('submit', async (event) => {
  event.preventDefault()
  await enter(at('token').value.trim())
})
at('forget').addEventListener('click', () => {
  storeToken(null)
  location.reload()
})

async function enter(token) {
  at('refusal').textContent = ''
  try {
    const answer = await fetch('/openapi.json', { headers: { authorization: `Bearer ${token}` } })
    const body = await answer.json()
    if (!answer.ok) throw new Error(refusal(answer.status, body))
    storeToken(token)
    at('token').value = ''
    show(body)
  } catch (error) {
    storeToken(null)
    askForToken(error instanceof Error ? error.message : String(error))
  }
}

function refusal(status, problem) {
  if (status === 401) return `${problem.detail} See above where a token comes from.`
  return [problem.detail, problem.hint].filter(Boolean).join(' ')
}

function askForToken(why) {
  at('token-page').hidden = false
  at('refusal').textContent = why
  at('token').focus()
}

/** A browser may refuse to store anything. Then a reload asks again. */
function storeToken(token) {
  try {
    if (token === null) sessionStorage.removeItem(tokenKey)
    else sessionStorage.setItem(tokenKey, token)
  } catch {
    return
  }
}

function readToken() {
  try {
    return sessionStorage.getItem(tokenKey)
  } catch {
    return null
  }
}

function show(api) {
  const [about, notice] = api.info.description.split('\n\n')
  at('version').textContent = api.info.version
  at('sandbox').hidden = notice === undefined
  at('forget').hidden = false
  const operations = Object.entries(api.paths).flatMap(([path, item]) =>
    methods.filter((method) => item[method]).map((method) => ({ ...item[method], path, method })),
  )
  at('operations').append(make('p', { className: 'about' }, about))
  if (notice) at('operations').append(make('p', { className: 'notice' }, notice))
  const links = new Map()
  for (const tag of api.tags) {
    const own = operations.filter((operation) => operation.tags?.includes(tag.name))
    if (own.length === 0) continue
    at('contents').append(make('h3', {}, tag.name))
    at('operations').append(
      make('h2', {}, tag.name),
      make('p', { className: 'soft' }, ...ticked(tag.description ?? '')),
    )
    for (const operation of own) {
      const card = article(api, operation)
      const link = linkTo(operation)
      links.set(card, link)
      at('contents').append(link)
      at('operations').append(card)
    }
  }
  at('token-page').hidden = true
  at('reference').hidden = false
  foldMenu()
  markCurrent(links)
  if (location.hash) document.getElementById(location.hash.slice(1))?.scrollIntoView()
}

function linkTo(operation) {
  const link = make(
    'a',
    { href: `#${operation.operationId}` },
    make('span', {}, operation.summary),
    make('span', { className: 'path' }, badge(operation.method), ...breakable(operation.path)),
  )
  link.addEventListener('click', () => {
    if (!wide.matches) at('menu').open = false
  })
  return link
}

/** In a wide window the list is beside the text, and open. Otherwise it is above, and folded. */
function foldMenu() {
  at('menu').open = wide.matches
  wide.addEventListener('change', () => (at('menu').open = wide.matches))
}

/** Marks in the list the operation that is in the upper part of the window. */
function markCurrent(links) {
  const reading = new IntersectionObserver(
    (changes) => {
      for (const { target, isIntersecting } of changes) {
        const link = links.get(target)
        link.ariaCurrent = isIntersecting ? 'true' : null
        if (isIntersecting && wide.matches) scrollToLink(link)
      }
    },
    { rootMargin: '-15% 0px -84% 0px' },
  )
  for (const card of links.keys()) reading.observe(card)
}

function scrollToLink(link) {
  const list = at('contents').closest('nav')
  const above = link.offsetTop - list.scrollTop
  if (above < 0 || above + link.offsetHeight > list.clientHeight) {
    list.scrollTop = link.offsetTop - list.clientHeight / 2
  }
}

const storedToken = readToken()
if (storedToken === null) askForToken('')
else void enter(storedToken)
