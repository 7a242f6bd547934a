/**
 * Finds the route for a path. A path `/repositories/{id}/…` leads to the same route as the path
 * with the repository's name.
 */
import { fullNameOf } from '../state/repositories.ts'
import type { World } from '../state/world.ts'
import type { Route } from './route.ts'

export interface Match {
  readonly route: Route
  readonly params: Readonly<Record<string, string>>
}

export interface Router {
  add(routes: readonly Route[]): void
  find(method: string, path: string): Match | null
  /** The template with this router's parameter names; throws for an unknown one. */
  knownTemplate(template: string): string
}

interface CompiledRoute {
  readonly route: Route
  readonly method: string
  readonly pattern: RegExp
}

export function createRouter(world: World): Router {
  const compiled: CompiledRoute[] = []

  const findMatch = (method: string, path: string): Match | null => {
    for (const each of compiled) {
      const found = each.method === method ? each.pattern.exec(path) : null
      if (found !== null) return { route: each.route, params: decodeAll(found.groups ?? {}) }
    }
    return null
  }

  return {
    add: (routes) => void compiled.push(...routes.map(compile)),
    find: (method, path) => {
      const byId = /^\/repositories\/(\d{1,15})(\/.+)$/.exec(path)
      if (byId === null) return findMatch(method, path)
      const repository = world.repositories.get(Number(byId[1]))
      // No repository can have this name: the route is found, the repository is not.
      const name = repository === undefined ? '-/-' : fullNameOf(repository)
      return findMatch(method, `/repos/${name}${byId[2] ?? ''}`)
    },
    knownTemplate: (template) => {
      const known = compiled.find(({ route }) => shapeOf(route.route) === shapeOf(template))
      if (known !== undefined) return known.route.route
      throw new Error(`Unknown route "${template}". Write a route as "GET /repos/{owner}/{repo}".`)
    },
  }
}

/** The names in braces do not matter. */
const shapeOf = (template: string): string => template.replace(/\{\w+\}/g, '{}')

function compile(route: Route): CompiledRoute {
  const [method = '', template = ''] = route.route.split(' ')
  const pattern = template.replace(/[.+]/g, '\\$&').replace(/\{(\w+)\}/g, '(?<$1>[^/]+)')
  return { route, method, pattern: new RegExp(`^${pattern}$`) }
}

function decodeAll(groups: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(groups).map(([name, value]) => [name, decode(value)]))
}

/** An invalid encoding is kept as it is. Nothing has such a name, so the answer is 404. */
function decode(value: string): string {
  try {
    return decodeURIComponent(value)
  } catch {
    return value
  }
}
