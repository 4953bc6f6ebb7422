// The base layout has no bar of its own, and the validator is a service elsewhere.
window.ui = SwaggerUIBundle({
  url: "../openapi.yaml",
  dom_id: "#swagger-ui",
  layout: "BaseLayout",
  presets: [SwaggerUIBundle.presets.apis],
  deepLinking: true,
  displayRequestDuration: true,
  defaultModelsExpandDepth: 0,
  docExpansion: "list",
  validatorUrl: "none",
});
